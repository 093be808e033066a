# swap FILE: what stands on standard input before a line ==== is in FILE exactly once, and becomes
# what stands behind that line.

swap() {
	perl -0777 -e '
		my ($file) = @ARGV;
		my ($old, $new) = split /^====\n/m, <STDIN>, 2;
		open(my $in, "<", $file) or die "$file: $!\n";
		my $text = <$in>;
		my $at = index($text, $old);
		die "$file has this not exactly once:\n$old" if $at < 0 || index($text, $old, $at + 1) >= 0;
		substr($text, $at, length $old) = $new;
		open(my $out, ">", $file) or die "$file: $!\n";
		print $out $text;
		close($out) or die "$file: $!\n";
	' "$1"
}
