// Command weir runs agents, and reads, searches and proves what they stored.
package main

import (
	"os"

	"github.com/weir-run/weir/internal/cli"
)

func main() { os.Exit(cli.Main()) }
