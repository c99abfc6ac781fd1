// A worker in Bun, as a single tenant without an isolate of its own: bun bun.mjs <scenario> <port>
const [scenario, port] = process.argv.slice(2);
const { fetch } = (await import(`../workers/${scenario}.js`)).default;
const settings = { hostname: '127.0.0.1', port: Number(port) };

if (scenario === 'websocket') {
  Bun.serve({
    ...settings,
    fetch: (request, server) => (server.upgrade(request) ? undefined : fetch(request)),
    websocket: {
      message(socket, data) {
        socket.send(data);
      },
    },
  });
} else Bun.serve({ ...settings, fetch });
