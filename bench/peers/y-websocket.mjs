/** The server of y-websocket as its package starts it, with HOST and PORT from the environment: nothing on disk. */
process.once('disconnect', () => process.exit(0)); // the runner is gone
await import('./node_modules/@y/websocket-server/src/server.js');
