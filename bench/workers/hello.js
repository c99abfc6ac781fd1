// The smallest worker there is. Served as it stands by our handler, workerd, Deno and Bun.
export default {
  fetch() {
    return new Response('Hello World');
  },
};
