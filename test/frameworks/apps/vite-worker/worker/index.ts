const page = (body: string): Response =>
  new Response(`<!doctype html><html lang="en"><body>${body}</body></html>`, {
    headers: { 'content-type': 'text/html; charset=utf-8' },
  });

export default {
  async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname === '/hello') return page(`<h1>Hello, ${url.searchParams.get('name')}</h1><p>version one</p>`);
    if (url.pathname === '/api/hello') return Response.json({ hello: url.searchParams.get('name') });
    if (url.pathname === '/stream') {
      const parts = new ReadableStream({
        async start(controller) {
          const encoder = new TextEncoder();
          controller.enqueue(encoder.encode('<p>first part</p>'));
          await new Promise((resolve) => setTimeout(resolve, 500));
          controller.enqueue(encoder.encode('<p>second part</p>'));
          controller.close();
        },
      });
      return new Response(parts, { headers: { 'content-type': 'text/html; charset=utf-8' } });
    }
    if (url.pathname === '/form') {
      if (request.method === 'POST') {
        const name = String((await request.formData()).get('name'));
        return Response.redirect(new URL(`/form?name=${encodeURIComponent(name)}`, url).href, 303);
      }
      const name = url.searchParams.get('name');
      return page(
        `<form method="post" action="/form"><input name="name"><button>Send</button></form>${name === null ? '' : `<p>Thanks, ${name}</p>`}`,
      );
    }
    return new Response('Nothing here', { status: 404 });
  },
};
