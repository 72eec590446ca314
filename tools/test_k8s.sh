#!/bin/sh
# Runs tests/k8s on a real cluster. Called by make, from the project's directory.
#
# On the cluster of KUBECONFIG with GROUNDSPEED_K8S_IMAGE, an image of this groundspeed that it can
# pull, and two classes of volumes in GROUNDSPEED_K8S_CLASSES ("fast,standard"). Without a KUBECONFIG
# on a cluster that is started here, where ../shared/k8s/up.sh is: one node, in namespaces of its own.
set -eu

python=.venv/bin/python
scripts=${GROUNDSPEED_K8S_SCRIPTS:-../shared/k8s}

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

if [ -n "${KUBECONFIG:-}" ]; then
    [ -n "${GROUNDSPEED_K8S_IMAGE:-}" ] ||
        fail "no image of groundspeed is named" \
            "build Containerfile, push it where the cluster can pull it, and set GROUNDSPEED_K8S_IMAGE"
    exec $python -m pytest tests/k8s "$@"
fi

[ -x "$scripts/up.sh" ] ||
    fail "no cluster to test on" "set KUBECONFIG and GROUNDSPEED_K8S_IMAGE"
[ "$(id -u)" = 0 ] || fail "a cluster is started by root only" "set KUBECONFIG instead"

LAB=${LAB:-/tmp/k8slab}
export LAB
"$scripts/up.sh"
holder=$(cat "$LAB/run/holder.pid")
"$LAB/bin/k" get crd clusters.postgresql.cnpg.io >/dev/null 2>&1 || "$scripts/up.sh" crds
"$scripts/up.sh" cnpg

image=k8slab.local/groundspeed:tests
mkdir -p "$LAB/images"
$python tools/container_image.py "$LAB/images/groundspeed-tests.tar" --name "$image" \
    --cache "$LAB/image-cache"
nsenter -t "$holder" -n -m -p -u -- \
    ctr -n k8s.io images import --all-platforms "$LAB/images/groundspeed-tests.tar" >/dev/null

# Inside its network, where the API server listens; everything else is this machine's.
exec nsenter -t "$holder" -n -- env \
    KUBECONFIG="$LAB/pki/admin.kubeconfig" \
    GROUNDSPEED_K8S_IMAGE="$image" \
    GROUNDSPEED_K8S_SERVER_IMAGE=k8slab.local/postgres:18 GROUNDSPEED_K8S_SERVER_USER=26 \
    GROUNDSPEED_K8S_CNPG_IMAGE=k8slab.local/postgres:15 \
    GROUNDSPEED_K8S_PULL=Never \
    GROUNDSPEED_K8S_NODE=k8slab GROUNDSPEED_K8S_DIRECTORY="$LAB/state/pv" \
    $python -m pytest tests/k8s "$@"
