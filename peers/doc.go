// Package peers drives Weir with other people's MCP implementations for Go, which nothing but these tests needs.
package peers
