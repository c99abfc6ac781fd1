// A worker in Deno, as a single tenant without an isolate of its own: deno run --allow-net --allow-read deno.mjs
// <scenario> <port>
const [scenario, port] = Deno.args;
const { fetch } = (await import(`../workers/${scenario}.js`)).default;

function echo(request) {
  if (request.headers.get('upgrade') !== 'websocket') return fetch(request);
  const { socket, response } = Deno.upgradeWebSocket(request);
  socket.onmessage = ({ data }) => socket.send(data);
  return response;
}

Deno.serve({ hostname: '127.0.0.1', port: Number(port), onListen() {} }, scenario === 'websocket' ? echo : fetch);
