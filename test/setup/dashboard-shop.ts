// A project with a history, for tests of the dashboard: live from its second push, a preview with a migration that
// production may not survive, and a last push that does not build. Pushed by Git, as people do.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { SharedDashboard } from './shared-dashboard.ts';
import { eventually, type Json } from './whole-platform.ts';

/** Its deployments, by what became of them. */
export interface Shop {
  readonly projectId: string;
  /** Live, and what was live before it. */
  readonly live: string;
  readonly earlier: string;
  readonly preview: string;
  readonly failed: string;
}

/** A subject that would be markup where it is not text. */
export const MARKUP = '<img src=x onerror="document.title=1"> \u05e9\u05dc\u05d5\u05dd';

/** Makes the project. */
export async function makeShop({ platform, organization }: SharedDashboard, name: string): Promise<Shop> {
  const { id: projectId } = await platform.call('POST', '/projects', { name, organizationId: organization.id });
  const folder = path.join(platform.folder, name);
  const write = (file: string, text: string): void => {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  };
  const git = (...words: string[]) => platform.git(folder, ...words);
  const remote = `http://git:${platform.token}@127.0.0.1:${platform.ports.api}/git/${name}.git`;
  const push = async (branch: string, subject: string): Promise<string> => {
    await git('add', '-A');
    await git('commit', '-qm', subject);
    // A push whose build fails is stored, and exits with 1.
    await git('push', '-q', remote, branch).catch(() => undefined);
    const pushed = await eventually<Json>(`The deployment of ${subject}`, async () => {
      const { items } = await platform.call('GET', `/deployments?projectId=${projectId}&limit=1`);
      return items[0]?.commitMessage?.trim() === subject && items[0];
    });
    return (await platform.ended(pushed.id)).id;
  };
  write('platform.yaml', `name: ${name}\ndb:\n  DB: orders\n`);
  write('migrations/0001_orders.sql', 'CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT);\n');
  write('src/index.ts', "export default { fetch: () => new Response('one') };\n");
  await git('init', '-q', '-b', 'main');
  const earlier = await push('main', 'Sell things in a shop');
  write('src/index.ts', "export default { fetch: () => new Response('two') };\n");
  const live = await push('main', MARKUP);
  await git('switch', '-qc', 'checkout-with-a-card');
  write('migrations/0002_article.sql', 'ALTER TABLE orders RENAME COLUMN item TO article;\n');
  const preview = await push('checkout-with-a-card', 'Call an item an article');
  await git('switch', '-q', 'main');
  write('src/index.ts', "import { missing } from './nowhere.ts';\nexport default { fetch: () => missing };\n");
  const failed = await push('main', 'Break the build');
  return { projectId, live, earlier, preview, failed };
}
