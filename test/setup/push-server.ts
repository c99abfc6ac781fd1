// Serves pushes to one repository, in a process that a test kills: node push-server.ts <data folder> <repository>
import { gitHttpBackend } from '#control/git-push/http-backend.ts';
import { serveApi } from '#control/process/servers.ts';
import { defaultLimits } from '#core/limits.ts';

const [dataFolder, repositoryId] = process.argv.slice(2);
const server = await serveApi({
  port: 0,
  host: '127.0.0.1',
  fetch: (request) =>
    gitHttpBackend(request, {
      dataFolder: dataFolder!,
      repositoryId: repositoryId!,
      path: new URL(request.url).pathname,
      account: 'acc',
      limits: defaultLimits.control,
      onEnd: () => {},
    }),
});
process.send!(server.port);
