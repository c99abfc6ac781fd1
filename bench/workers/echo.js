// Answers with the request's body: /stream passes it on, any other path reads it whole. Served as it stands by our
// handler, workerd, Deno and Bun.
export default {
  async fetch(request) {
    const headers = { 'content-type': 'text/plain' };
    if (request.url.endsWith('/stream')) return new Response(request.body, { headers });
    return new Response(await request.text(), { headers });
  },
};
