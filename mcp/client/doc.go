// Package client makes tools of the tools of MCP servers.
//
// A [Set] holds the servers of a [Config]: each is started or reached, its tools are listed over all pages
// and become tools named server--tool. What a server answers is kept as the bytes that it
// sent; a [View] decides what of it a model is shown. A server that is down, slow, hostile or dead fails by
// name and alone: every call to it is answered, the other servers serve on.
package client
