import { AngularAppEngine, createRequestHandler } from '@angular/ssr';

const engine = new AngularAppEngine();

async function answer(request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  if (pathname === '/api/hello') return Response.json({ hello: searchParams.get('name') });
  if (pathname === '/send' && request.method === 'POST') {
    const name = String((await request.formData()).get('name'));
    return new Response(null, { status: 303, headers: { location: `/form?name=${encodeURIComponent(name)}` } });
  }
  return (await engine.handle(request)) ?? new Response('Not found', { status: 404 });
}

export const reqHandler = createRequestHandler(answer);
export default { fetch: answer };
