package cli

import "github.com/spf13/cobra"

// newMCP is "weir mcp", below which the servers are.
func newMCP(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve tools to other hosts over the Model Context Protocol",
	}
	group(cmd, newMCPServe(a), newMCPGateway(a), newMCPLab(a))
	return cmd
}
