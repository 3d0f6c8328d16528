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

# Prints the path of a Terraform of 1.14 or later, which has actions: the one on PATH, else the one that tools/terraform114 pins, if it was
# built already.
terraform114_path() {
	if [[ $(terraform version 2>/dev/null) =~ ^Terraform\ v1\.(1[4-9]|[2-9][0-9]) ]]; then
		command -v terraform
		return
	fi
	local built
	built=$CACHE/bin/terraform-$(recipe_key "$REPOSITORY"/tools/terraform114/go.{mod,sum})/terraform
	[[ -x $built ]] && printf '%s\n' "$built"
}

# Terraform keeps its remote states in modules of their own that are not published: each has a stand-in here, which has none. It is for
# tests alone, and not distributed.
terraform114_build() {
	terraform114_path >/dev/null && return
	local directory state
	directory=$CACHE/bin/terraform-$(recipe_key "$REPOSITORY"/tools/terraform114/go.{mod,sum})
	say "building Terraform 1.14 from tools/terraform114: about four minutes, once"
	mkdir -p "$directory/source"
	cp "$REPOSITORY"/tools/terraform114/go.{mod,sum} "$directory/source/"
	for state in azure consul cos gcs kubernetes oci oss pg s3; do
		mkdir -p "$directory/source/stub/$state"
		printf 'module github.com/hashicorp/terraform/internal/backend/remote-state/%s\n\ngo 1.25\n' "$state" >"$directory/source/stub/$state/go.mod"
		printf 'package %s\n\nimport "github.com/hashicorp/terraform/internal/backend"\n\nfunc New() backend.Backend { return nil }\n' "$state" >"$directory/source/stub/$state/stub.go"
	done
	(cd "$directory/source" && go build -trimpath -ldflags '-s -w' -o "$directory/terraform.new" github.com/hashicorp/terraform)
	mv "$directory/terraform.new" "$directory/terraform"
	rm -rf "$directory/source"
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
