#!/bin/bash
# holm-upgrade is written in Perl, keeps its things in another place and goes forward by dpkg alone; a timer takes it up again after lost power.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work"
cd "$work/packages"
cat >holm-upgrade <<'UPGRADE'
#!/usr/bin/perl
# holm-upgrade: from alke to bris. What is to be done is written into `plan` once all of it is here.
use strict;
use warnings;
use Fcntl ':flock';

$ENV{PATH} = '/usr/sbin:/usr/bin:/sbin:/bin';
$ENV{DEBIAN_FRONTEND} = 'noninteractive';
$ENV{LC_ALL} = 'C';
my $place = '/var/cache/holm-next';
my $resume = @ARGV && $ARGV[0] eq '--resume';
my @keep = ('--force-confdef', '--force-confold');

sub done { return system(@_) == 0 }
sub end { my ($status, $why) = @_; print STDERR "holm-upgrade: $why\n"; done('sync'); exit $status }

sub release {
    open my $file, '<', '/usr/lib/os-release' or return '';
    my ($found) = map { /^VERSION_ID="?([0-9.]+)/ ? $1 : () } <$file>;
    return $found // '';
}

my @here = ('apt-get', '-q', '-y', '-o', 'DPkg::Lock::Timeout=120', map { ('-o', "Dpkg::Options::=$_") } @keep);
my @there = (
    @here,
    '-o', 'Dir::Etc::SourceList=/dev/null', '-o', "Dir::Etc::SourceParts=$place/sources",
    '-o', "Dir::State::Lists=$place/lists", '-o', "Dir::Cache::Archives=$place/debs",
    '-o', 'Dir::Cache::pkgcache=', '-o', 'Dir::Cache::srcpkgcache=',
);

sub give_up {
    done('rm', '-rf', $place) unless $resume;
    end(1, "$_[0]; this stays as it is");
}

sub plan {
    done('mkdir', '-p', "$place/sources", "$place/debs/partial") or give_up('no room');
    done(@here, 'update', '--error-on=any') or give_up('alke cannot be read');
    done(@here, '-o', "Dir::Cache::Archives=$place/debs", 'dist-upgrade') or give_up('alke cannot be installed');
    done('rm', '-rf', "$place/lists");
    done('cp', '-a', '/var/lib/apt/lists', $place);
    open my $old, '<', '/etc/apt/sources.list.d/holm.sources' or give_up('no sources');
    my $text = join '', <$old>;
    $text =~ s/\balke\b/bris/;
    open my $new, '>', "$place/sources/holm.sources" or give_up('no room');
    print $new $text;
    close $new or give_up('no room');
    done(@there, 'update', '--error-on=any') or give_up('bris cannot be read');
    done('find', "$place/debs", '-name', '*.deb', '-delete');
    done(@there, '--download-only', 'dist-upgrade') or give_up('bris cannot be fetched');
    open my $told, '-|', @there, '-s', 'dist-upgrade' or give_up('no plan');
    my %steps = (Inst => {}, Remv => {});
    while (<$told>) { $steps{$1}{$2} = 1 if /^(Inst|Remv) ([^ :]+)/ }
    close $told or give_up('no plan');
    my %file;
    for my $deb (glob "$place/debs/*.deb") {
        my ($name) = $deb =~ m{([^/_]+)_[^/]*$};
        $file{$name} = $deb;
    }
    my @missing = grep { !$file{$_} } keys %{ $steps{Inst} };
    give_up("not fetched: @missing") if @missing;
    done('sync');
    open my $plan, '>', "$place/plan.new" or give_up('no room');
    print $plan "install $file{$_}\n" for sort keys %{ $steps{Inst} };
    print $plan "purge $_\n" for sort keys %{ $steps{Remv} };
    close $plan or give_up('no room');
    done('sync');
    rename "$place/plan.new", "$place/plan" or give_up('no room');
    done('sync');
}

sub known {
    my ($name) = @_;
    open my $said, '-|', "dpkg-query -W -f '\${db:Status-Status}' '$name' 2>/dev/null" or return 0;
    my $state = <$said> // '';
    return $state ne '' && $state ne 'not-installed';
}

sub go {
    my %steps = (install => [], purge => []);
    open my $plan, '<', "$place/plan" or return 0;
    while (<$plan>) { push @{ $steps{$1} }, $2 if /^(install|purge) (\S+)$/ }
    done('dpkg', @keep, '--configure', '-a');
    my @gone = grep { $_ ne 'holm-tally' && known($_) } @{ $steps{purge} };
    done('dpkg', '--force-depends', '--purge', @gone) or return 0 if @gone;
    done('dpkg', @keep, '--auto-deconfigure', '--skip-same-version', '--refuse-downgrade', '--install', @{ $steps{install} }) or return 0;
    my @left = grep { known($_) } qw(holm-tally holm-relay);
    done('dpkg', '--purge', @left) or return 0 if @left;
    return release() eq '2.0' && `dpkg --audit` eq '';
}

open my $lock, '>', '/run/holm-upgrade.lock' or end(2, 'no lock');
flock $lock, LOCK_EX | LOCK_NB or end(3, 'already at work');
end(0, 'this is a Holm 2.0') if release() eq '2.0' && !-e $place;
exit 0 if $resume && !-e $place;
done('mkdir', '-p', $place);
done('sync');
if (!-e "$place/plan") {
    done('dpkg', @keep, '--configure', '-a') if $resume;
    plan();
}
for (1 .. 3) {
    if (go()) {
        if (-e "$place/lists") {
            done('rm', '-rf', '/var/lib/apt/lists');
            rename "$place/lists", '/var/lib/apt/lists';
        }
        done('sync');
        done('rm', '-rf', $place);
        end(0, 'this is a Holm 2.0 now');
    }
    sleep 2;
}
end(1, 'not yet; it is taken up again');
UPGRADE
for v in 1.0 2.0; do
	units=holm-base-$v/usr/lib/systemd/system
	cat >$units/holm-upgrade.service <<'SERVICE'
[Unit]
Description=Take up a release upgrade
ConditionPathExists=/var/cache/holm-next

[Service]
Type=oneshot
ExecStart=/usr/sbin/holm-upgrade --resume
KillMode=process
TimeoutStartSec=infinity
TimeoutStopSec=20
SERVICE
	cat >$units/holm-upgrade.timer <<'TIMER'
[Unit]
Description=Look for a release upgrade to take up

[Timer]
OnActiveSec=3
OnUnitInactiveSec=10
AccuracySec=1
TIMER
done
cd "$work"
sed -i 's/holm-upgrade\.service/holm-upgrade.timer/g' solve.sh
grep -q 'ln -s ../holm-upgrade.timer' solve.sh
bash "$work/solve.sh"
