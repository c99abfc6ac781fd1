// Says which version of itself it is.
export default {
  fetch() {
    return new Response('version 0');
  },
};
