// The worker of bindings.bench.ts on our side.
import { answer, taken, until } from './binding-operations.js';

async function run({ ORDERS }) {
  const { executionId } = await ORDERS.trigger({ n: 1 });
  await until(async () => (await ORDERS.getExecution(executionId)).status === 'completed');
}

export default {
  fetch: (request, env) => answer(request, env, run),
  queue: ({ messages }, env) => taken(messages, env),
  workflows: {
    orders: {
      async handler({ input, step }) {
        let n = input.n;
        for (const name of ['a', 'b', 'c']) n = await step.run(name, async () => n + 1);
        return n;
      },
    },
  },
};
