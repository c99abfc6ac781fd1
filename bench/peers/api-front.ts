// The parts of the API process that a call of the AI gateway passes: the listener and the connection to the gateway's
// socket. `node api-front.ts <port> <socket>`
import { openAiProxy } from '../../control/process/ai-proxy.ts';
import { serveApi } from '../../control/process/servers.ts';

const [port, socket] = process.argv.slice(2);
const hop = openAiProxy(socket!);
await serveApi({
  host: '127.0.0.1',
  port: Number(port),
  fetch: (request) => hop.fetch(request) ?? new Response(null, { status: 404 }),
});
process.send?.('ready');
