// Sends every WebSocket message back. Served as it stands by our handler and workerd; Deno and Bun have APIs of their
// own (peers/).
export default {
  fetch(request) {
    if (request.headers.get('upgrade') !== 'websocket') return new Response('a WebSocket is served here');
    const [client, server] = Object.values(new WebSocketPair());
    server.accept();
    server.addEventListener('message', ({ data }) => server.send(data));
    return new Response(null, { status: 101, webSocket: client });
  },
};
