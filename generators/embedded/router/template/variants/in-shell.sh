#!/bin/sh
# `start` and the command are shell scripts that run a Python program beside them.
set -eu
bash /solution/solve.sh
cd /app/out/site
mkdir lib
mv start lib/router.py
sed -i 's/^if os.path.basename(sys.argv\[0\]) == WORD:$/if os.environ.get("AS") == WORD:/' lib/router.py
rm {{axis_word}}
printf '#!/bin/sh\nAS={{axis_word}} exec /usr/bin/python3 -IS /site/lib/router.py "$@"\n' > {{axis_word}}
printf '#!/bin/sh\nexec /usr/bin/python3 -IS /site/lib/router.py "$@"\n' > start
chmod 755 start {{axis_word}}
