#!/bin/sh
# The program is a shell script that brings its Python along.
set -eu
bash /solution/solve.sh
{
    printf '#!/bin/sh\nexec python3 -IS -c "$(sed "1,/^__END__\\$/d" "$0")" "$@"\n__END__\n'
    cat /app/out/updater
} > /tmp/updater
install -m 755 /tmp/updater /app/out/updater
