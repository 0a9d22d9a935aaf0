// Renders a folder with a kustomization, as `kubectl kustomize FOLDER` does: kubectl runs the same command of the same
// version.
package main

import (
	"os"

	"sigs.k8s.io/kustomize/kustomize/v5/commands/build"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	command := build.NewCmdBuild(filesys.MakeFsOnDisk(), build.MakeHelp("kustomize", "build"), os.Stdout)
	if command.Execute() != nil {
		os.Exit(1)
	}
}
