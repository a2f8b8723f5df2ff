# bare.bash - a machine on which nothing can be installed, as far as programs see it through PATH.

# bare_machine FOLDER PACKAGES MODULES: a PATH of all programs but sudo and apt-get, with a user who
# is not root, a dpkg-query that denies these packages and a pkg-config that denies these modules.
bare_machine() {
	local bin=$1 packages=$2 modules=$3 place name real_dpkg real_pkg_config
	real_dpkg=$(command -v dpkg-query) || real_dpkg=false
	real_pkg_config=$(command -v pkg-config)
	if mkdir "$bin" 2>/dev/null; then # otherwise only what is denied is another
		for place in $(tr : ' ' <<<"$PATH"); do
			find "$place/" -maxdepth 1 ! -type d -exec ln -s -t "$bin" {} + 2>/dev/null || : # the first of a name counts
		done
		for name in sudo apt-get id dpkg-query pkg-config pkgconf; do
			rm -f "$bin/$name"
		done
	fi
	cat >"$bin/id" <<'END'
#!/bin/sh
echo 1000
END
	cat >"$bin/dpkg-query" <<END
#!/bin/bash
[[ " $packages " != *" \${*: -1} "* ]] || exit 1
exec $real_dpkg "\$@"
END
	cat >"$bin/pkg-config" <<END
#!/bin/bash
for word in "\$@"; do
	[[ " $modules " != *" \$word "* ]] || exit 1
done
exec $real_pkg_config "\$@"
END
	chmod +x "$bin/id" "$bin/dpkg-query" "$bin/pkg-config"
}
