// Terminals of sandboxes, from outside a worker, over a WebSocket. The protocol is in terminal-socket.ts.
import { platform } from '#packages/worker/index.ts';
import { branchOnly, done, writes, type ResourceState } from './access.ts';
import { takeSocket } from './offered-socket.ts';
import { ask, ofOne } from './sandbox-asking.ts';
import { talkToTerminal } from './terminal-socket.ts';

export const sandboxTerminals = platform<unknown, ResourceState>().get(
  '/projects/:id/sandboxes/:binding/:sandbox/terminal',
  {
    ...writes,
    summary: 'Open a terminal: a WebSocket',
    description:
      'Binary messages are input and output. Text messages are JSON. The client first sends `{"start": {"command", "cwd", "env", "cols", "rows"}}`; all fields are optional, and the default is a login shell with 80 columns and 24 rows. Then it can send `{"resize": [cols, rows]}`, and `{"end": true}` after the last input. The server finally sends `{"exitCode", "signal"}`, or `{"error": {"code", "message"}}`. The terminal ends when the socket closes.',
    params: ofOne,
    query: branchOnly,
  },
  (ctx) => {
    const { resources } = ctx.state;
    const { sandbox } = ctx.params;
    const isTaken = takeSocket(ctx.req, (socket) =>
      talkToTerminal(socket, {
        open: (args, bytes, signal) =>
          ask(
            { params: ctx.params, query: ctx.query, state: ctx.state, signal },
            { operation: 'terminal', sandbox, args, bytes },
          ),
        explain: resources.explain,
      }),
    );
    if (!isTaken) throw resources.refuse('bad_request', 'A terminal requires a WebSocket');
    return done();
  },
);
