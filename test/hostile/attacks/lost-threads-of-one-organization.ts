// An attacker with three projects loses a thread in each, so that none of them has done it twice: they are of one
// organization, and what the first did counts for the others.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '#test/setup/until.ts';
import { attacker, type Attack } from '#test/setup/hostile.ts';

const endless = attacker(
  `return new Response(String(Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)));`,
).replace("'alive'", "url.pathname === '/owned' ? 'owned' : 'alive'");
const projects = ['attacker', 'second', 'third'];

export default {
  kind: 'cpu',
  worker: Object.fromEntries(projects.map((name) => [name, attacker('')])),
  // What they burn would have the engine replaced, and blame the worst of them once more.
  environment: { WORKER_WALL_LIMIT_MS: '300000', LOST_THREADS_CPU_MS: '600000' },
  async attack({ get, platform }) {
    const ends: string[] = [];
    for (const project of projects) {
      const file = join(platform.folder, 'routes', `${project}.json`);
      const record = JSON.parse(await readFile(file, 'utf8')) as object;
      await writeFile(file, JSON.stringify({ ...record, owner: { organization: 'org_attacker', project } }));
      await platform.deploy(project, endless);
      await platform.answers(project, 'owned', '/owned');
      const answer = await get('/attack', { project, waitMs: 300_000 });
      const [struck] = await until(async () => {
        const { ledger } = await platform.state();
        const found = ledger.filter(({ deployment }) => deployment.startsWith(`${project}/`));
        return found.length > 0 && found;
      });
      ends.push(`${project} ${answer} ${struck?.exact}`);
    }
    return ends.join(', ');
  },
  expect: 'attacker 503 isolate_replaced 1, second 503 isolate_replaced 2, third 503 isolate_replaced 2',
} satisfies Attack;
