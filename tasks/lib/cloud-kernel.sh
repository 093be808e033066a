# Debian's kernel for clouds, small and quick to start, with its modules, in $packages/kernel, of the
# version that the mirror has today. Wants $packages, a folder that may not be there yet; write it
# inside of an `if`, so that another run in the same sandbox need not fetch it again.

	mkdir -p $packages
	apt-get -qq update
	kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p')
	(cd $packages && apt-get -qq -o APT::Sandbox::User=root download "$kernel")
	dpkg-deb -x $packages/linux-image-*.deb $packages/kernel
