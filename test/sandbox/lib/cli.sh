# shellcheck shell=bash
# The freshly built provider, and Terraform and OpenTofu set up to take it for source virtcluster/virtcluster.

# Prints the path of an OpenTofu: the one on PATH, else the one that the tools module pins, if it was built already.
tofu_path() {
	command -v tofu && return
	local built
	built=$CACHE/bin/tofu-$(recipe_key "$REPOSITORY/tools/go.mod" "$REPOSITORY/tools/go.sum")/tofu
	[[ -x $built ]] && printf '%s\n' "$built"
}

tofu_build() {
	tofu_path >/dev/null && return
	local directory
	directory=$CACHE/bin/tofu-$(recipe_key "$REPOSITORY/tools/go.mod" "$REPOSITORY/tools/go.sum")
	say "building OpenTofu from tools/: about four minutes, once"
	mkdir -p "$directory"
	(cd "$REPOSITORY/tools" && go build -o "$directory/tofu.new" github.com/opentofu/opentofu/cmd/tofu)
	mv "$directory/tofu.new" "$directory/tofu"
}

# Where the provider is built: each working directory of the repository has its own. PROVIDER_TREE is another one than this to build.
provider_directory() { printf '%s/provider/%s\n' "$CACHE" "$(recipe_key <<<"${PROVIDER_TREE:-$REPOSITORY}")"; }

# Builds the provider and prints where it is. One that does not build is said so and left out: acceptance tests serve the
# provider from their own process, and whoever applies a configuration is told that there is none.
provider_build() {
	local built
	built=$(provider_directory)/terraform-provider-virtcluster
	mkdir -p "$(dirname "$built")"
	# Building onto the last result costs no linking when nothing changed.
	if ! (cd "${PROVIDER_TREE:-$REPOSITORY}" && [[ -e main.go ]] && go build -o "$built" .); then
		rm -f "$built"
		say "warning: the provider does not build; terraform and tofu will not find it"
	fi
	printf '%s\n' "$built"
}

# One configuration for both programs: an address without a host means each one's own registry. The override serves plan
# and apply without an init; the mirror serves an init that modules need, without a network.
cli_configure() { # DIRECTORY
	local host mirror
	for host in registry.terraform.io registry.opentofu.org; do
		mirror=$1/mirror/$host/virtcluster/virtcluster/0.1.0/$(go env GOOS)_$(go env GOARCH)
		mkdir -p "$mirror"
		ln -s "$1/terraform-provider-virtcluster" "$mirror/terraform-provider-virtcluster_v0.1.0"
	done
	cat >"$1/cli.tfrc" <<-EOF
		disable_checkpoint = true
		provider_installation {
		  dev_overrides {
		    "virtcluster/virtcluster" = "$1"
		    # What a configuration without required_providers means.
		    "hashicorp/virtcluster" = "$1"
		  }
		  filesystem_mirror {
		    path    = "$1/mirror"
		    include = ["registry.terraform.io/virtcluster/virtcluster", "registry.opentofu.org/virtcluster/virtcluster"]
		  }
		  direct {
		    exclude = ["registry.terraform.io/virtcluster/virtcluster", "registry.opentofu.org/virtcluster/virtcluster"]
		  }
		}
	EOF
}
