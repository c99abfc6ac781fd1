// An ssr project as tests deploy it: a Node server of one file, which answers with what it sees, and what it is told.
/** Files of a project; `more` stands before it listens. */
export function ssrApp(more = ''): Record<string, string> {
  return {
    'package.json': JSON.stringify({ name: 'app', type: 'module', scripts: { start: 'node server.js' } }),
    'public/style.css': 'p { color: teal }',
    'server.js': `
import http from 'node:http';
${more}
const routes = globalThis.routes ?? {};
const server = http.createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://app');
  const route = routes[pathname];
  if (route !== undefined) return route(request, response);
  if (pathname === '/echo') {
    response.writeHead(201, { 'content-type': 'text/plain', 'x-said': request.headers['x-say'] ?? '' });
    request.pipe(response);
    return;
  }
  if (pathname === '/headers') return response.end(JSON.stringify(request.headers));
  if (pathname === '/pid') return response.end(String(process.pid));
  response.end('hello from ' + (process.env.NAME ?? 'a server'));
});
server.listen(process.env.PORT, () => console.log('listening'));
`,
  };
}

export const SSR = 'kind: ssr\n';
