// Root of the edge process: Caddy in front of everything that visitors reach. Started by the supervisor if PUBLIC_HTTPS
// is on. The supervisor sends `{type: 'handlers', upstreams, at}` when machines come or go; the reply is `{type:
// 'handlers-used', at}`. Reads routes from their records, so it works without the database and the API.
import { openLog } from '#core/log/log.ts';
import { tellFigures } from '#core/process/figures.ts';
import { runProcess } from '#core/process/run-process.ts';
import { openRouteFiles } from '#artifacts/route-source-files.ts';
import { edgeConfiguration } from './configuration.ts';
import { startEdge } from './edge.ts';

const log = openLog('edge', process.env);

await runProcess(log, async () => {
  const config = edgeConfiguration(process.env);
  const routes = await openRouteFiles({
    folder: config.folder,
    onProblem: ({ file, reason }) => log.warn({ file, reason }, 'Route file rejected'),
  });
  const edge = await startEdge(config, routes, log);
  process.on('message', (message) => {
    const { type, upstreams, at } = message as { type?: unknown; upstreams?: readonly string[]; at?: string };
    if (type !== 'handlers' || upstreams === undefined) return;
    void edge.setHandlers(upstreams).then(() => process.connected && process.send?.({ type: 'handlers-used', at }));
  });
  process.send?.({ type: 'ready', httpsPort: config.httpsPort, metricsSocket: edge.adminSocket });
  tellFigures(() => [['platform_edge_up', {}, edge.caddyPid() == null ? 0 : 1]]);
  return () => edge.close();
});
