// Reads a query parameter and answers JSON. Served as it stands by our handler, workerd, Deno and Bun.
export default {
  fetch(request) {
    const name = new URL(request.url).searchParams.get('name') ?? 'nobody';
    return Response.json({ message: `Hello ${name}`, items: [1, 2, 3], nested: { path: 'a/b', ok: true, none: null } });
  },
};
