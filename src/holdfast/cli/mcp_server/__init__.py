"""The MCP server: the commands that read, as tools for an agent, confined to named roots."""
