// The configuration of the agent that most tests talk to: tools of every kind, and hooks that tell what fired.
export const agentTools = `
  maxSteps: 4,
  tools: [
    defineTool({
      name: 'add',
      description: 'Adds',
      parameters: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } }, required: ['a', 'b'] },
      execute: async ({ a, b }, ctx) => { await effect(ctx.chatId, 'add', ctx.idempotencyKey); return String(a + b); },
    }),
    { name: 'fails', description: 'Throws', parameters: { type: 'object' }, retries: 0, execute: () => { throw new Error('no such thing'); } },
    { name: 'huge', description: 'Returns 10 MB', parameters: { type: 'object' }, execute: () => 'x'.repeat(10_000_000) },
    { name: 'hangs', description: 'Never returns', parameters: { type: 'object' }, retries: 0, timeoutMs: 50, execute: () => new Promise(() => {}) },
    { name: 'echo', description: 'Says it back', parameters: { type: 'object' }, execute: (args, ctx) => JSON.stringify({ args, known: Object.keys(ctx.memory) }) },
  ],
  hooks: {
    onMemorySet: (ctx, key, secret) => hook(ctx.chatId, 'onMemorySet', key, secret),
    onMemoryDelete: (ctx, key) => hook(ctx.chatId, 'onMemoryDelete', key),
    onArtifactCreated: (ctx, filename, content) => hook(ctx.chatId, 'onArtifactCreated', filename, content),
    onTaskScheduled: (ctx, task) => hook(ctx.chatId, 'onTaskScheduled', task.description),
    onRunComplete: (ctx, response, reason) => {
      if (ctx.userId === 'unheard') throw Object.assign(new Error('the hook is broken'), { name: 'NonRetryableError' });
      return hook(ctx.chatId, 'onRunComplete', response, reason);
    },
    onRunError: (ctx, error) => hook(ctx.chatId, 'onRunError', error.message),
  },
`;
