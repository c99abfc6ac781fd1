// The worker: every request that no static file answers comes here.
export default {
  async fetch(request: Request, env: PlatformEnv): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname === '/') return new Response(`Hello from ${env.vars.NAME ?? '__name__'}\n`);
    if (url.pathname === '/echo' && request.method === 'POST') return Response.json(await request.json());
    return new Response('Not found\n', { status: 404 });
  },
};
