# What is to be built: the milestones up to $STOP_AFTER, all without it; `has NAME` says whether NAME
# is among them. Wants $ladder, the milestones in their order. Write `has NAME || …` for what is left
# out on purpose of the milestone after the last.

reached=" "
for milestone in $ladder; do
	reached="$reached$milestone "
	[ "$milestone" = "${STOP_AFTER:-}" ] && break
done
has() { case "$reached" in *" $1 "*) ;; *) return 1 ;; esac; }
