// The etcd server, built as a module of our own: distributions ship versions that lack what streaming lists need.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
