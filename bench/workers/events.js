// The worker of events.bench.ts: sends, sets and triggers, and counts what comes. The counts are in the state binding:
// events run in another isolate than requests.

export default {
  async fetch(request, { JOBS, TIMER, ORDERS, KV }) {
    const { pathname, searchParams } = new URL(request.url);
    const n = Number(searchParams.get('n'));
    if (pathname === '/send') {
      for (let at = 0; at < n; at += 100) {
        const messages = Array.from({ length: Math.min(100, n - at) }, (_, i) => ({ body: { n: at + i } }));
        await JOBS.sendBatch(messages);
      }
    } else if (pathname === '/delivered') return new Response(String((await KV.get('delivered', 'json'))?.n ?? 0));
    else if (pathname === '/timers') {
      const overMs = Number(searchParams.get('ms'));
      const { keys } = await KV.list({ prefix: 'late:' });
      await Promise.all(keys.map(({ name }) => KV.delete(name)));
      // All at once, so that none is due before it is set.
      await Promise.all(
        Array.from({ length: n }, (_, i) => TIMER.set(`t${i}`, { afterMs: 2000 + Math.round((i * overMs) / n) }, {})),
      );
    } else if (pathname === '/lateness') {
      const { keys } = await KV.list({ prefix: 'late:' });
      return Response.json(keys.map(({ metadata }) => metadata));
    } else if (pathname === '/run') {
      const { executionId } = await ORDERS.trigger({ steps: n });
      while ((await ORDERS.getExecution(executionId)).status !== 'completed')
        await new Promise((resolve) => setTimeout(resolve, 3));
    }
    return new Response('done');
  },
  queue: async ({ messages }, { KV }) => void (await KV.update('delivered', { $inc: { n: messages.length } })),
  timer: async ({ id, scheduledTime }, { KV }) => {
    await KV.put(`late:${id}`, '', { metadata: Date.now() - Number(new Date(scheduledTime)) });
  },
  workflows: {
    orders: {
      async handler({ input, step }) {
        for (let n = 0; n < input.steps; n++) await step.run(`step ${n}`, async () => n);
        return 'done';
      },
    },
  },
};
