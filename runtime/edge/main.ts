// Root of the edge process: Caddy before everything that visitors reach. Started by the supervisor where PUBLIC_HTTPS
// is on; hears nothing but SIGTERM. Knows routes from their records alone: it works without database and API.
import { openLog } from '#core/log/log.ts';
import { tellFigures } from '#core/process/figures.ts';
import { openRouteFiles } from '#deployments/route-source-files.ts';
import { edgeConfiguration } from './configuration.ts';
import { startEdge, type Edge } from './edge.ts';

const log = openLog('edge', process.env);
let edge: Edge | null = null;
let isStopping = false;

async function stop(): Promise<never> {
  isStopping = true;
  await edge?.close();
  process.exit(0);
}
process.on('SIGTERM', () => void stop());
process.on('SIGINT', () => {});
process.on('disconnect', () => void stop());
try {
  const config = edgeConfiguration(process.env);
  const routes = await openRouteFiles({
    folder: config.folder,
    onProblem: ({ file, reason }) => log.warn({ file, reason }, 'Route file rejected'),
  });
  edge = await startEdge(config, routes, log);
  if (isStopping) await stop();
  process.send?.({ type: 'ready', httpsPort: config.httpsPort, metricsSocket: edge.adminSocket });
  tellFigures(() => [['platform_edge_up', {}, edge?.caddyPid() == null ? 0 : 1]]);
} catch (error) {
  log.fatal((error as Error).message);
  process.exit(78);
}
