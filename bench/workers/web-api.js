// Runs the loops of web-api.bench.ts inside an isolate.
import { answer } from './web-api-loops.ts';

export default {
  async fetch(incoming) {
    return Response.json(await answer(new URL(incoming.url).searchParams));
  },
};
