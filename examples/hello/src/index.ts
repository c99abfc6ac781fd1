// The plain worker of `npm start`: a fetch handler and nothing else.

interface Env {
  readonly vars: Readonly<Record<string, string>>;
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname === '/')
      return new Response(`Hello ${url.searchParams.get('name') ?? env.vars['NAME'] ?? 'World'}!\n`);
    if (url.pathname === '/json')
      return Response.json({ method: request.method, path: url.pathname, query: Object.fromEntries(url.searchParams) });
    if (url.pathname === '/echo' && request.method === 'POST') {
      return new Response(request.body, {
        headers: { 'content-type': request.headers.get('content-type') ?? 'text/plain' },
      });
    }
    if (url.pathname === '/stream')
      return new Response(countdown(5), { headers: { 'content-type': 'text/plain; charset=utf-8' } });
    return new Response('Not found\n', { status: 404 });
  },
};

/** One line each 100 ms, to see that a response streams: `curl -N http://hello.localhost:4001/stream`. */
function countdown(from: number): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let left = from;
  return new ReadableStream({
    async pull(controller) {
      if (left === 0) {
        controller.enqueue(encoder.encode('lift-off\n'));
        controller.close();
        return;
      }
      controller.enqueue(encoder.encode(`${left--}\n`));
      await new Promise((resolve) => setTimeout(resolve, 100));
    },
  });
}
