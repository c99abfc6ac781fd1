// Only the two ends of forwarding between engines: a listener that responds at once (`direct`), or that forwards every
// request to another process that does (`forwarded`). `node forwarding.ts <mode> <port>`, started by scaling.bench.ts.
import { fork } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultLimits } from '../../core/limits.ts';
import { Forwarder } from '../../runtime/engine/cluster/forwarder.ts';
import { openReceiver } from '../../runtime/engine/cluster/receiver.ts';
import type { Exchange } from '../../runtime/engine/http/listener.ts';
import { openNodeListener } from '../../runtime/engine/http/listener-node.ts';

const [mode, where] = process.argv.slice(2) as [string, string];
// As an isolate's answers come: not in the turn of the event loop that brought the request.
const answer = (exchange: Exchange): void =>
  void setImmediate(() => exchange.send(200, 'content-type\0text/plain;charset=UTF-8\0', 'Hello World'));

if (mode === 'serving') {
  await openReceiver({
    path: where,
    onExchange(_deployment, exchange) {
      answer(exchange);
      return true;
    },
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.('ready');
} else {
  let onExchange = answer;
  if (mode === 'forwarded') {
    const path = join(mkdtempSync(join(tmpdir(), 'platform-bench-')), 'link');
    const serving = fork(import.meta.filename, ['serving', path]);
    await new Promise((resolve) => serving.once('message', resolve));
    const forwarder = new Forwarder({
      serveHere: (_deployment, exchange) => answer(exchange),
      answerLost: (exchange) => exchange.destroy(),
    });
    const counter = { inFlight: 0 };
    onExchange = (exchange) => forwarder.forward(path, 'project/d000000000000', exchange, counter);
  }
  await openNodeListener({ port: Number(where), host: '127.0.0.1', limits: defaultLimits, onExchange });
}
