// Every night: yesterday's figures, and pictures nobody wants any more, because their upload was never confirmed.
import { platform } from '@platform-run/worker';

const dayMs = 24 * 60 * 60 * 1000;

export const nightly = platform<PlatformEnv>().cron('NIGHTLY', async ({ env, scheduledTime }) => {
  const since = scheduledTime - dayMs;
  const figures = await env.DB.prepare(
    'SELECT count(*) AS entries, count(DISTINCT user_id) AS guests FROM entries WHERE created_at >= ?',
  )
    .bind(since)
    .first<{ entries: number; guests: number }>();
  await env.KV.setJSON('figures', { ...figures, since: new Date(since).toISOString() });
  let removed = 0;
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<PlatformEnv['PICTURES']['list']>> = await env.PICTURES.list({
      prefix: 'entries/',
      ...(cursor === null ? {} : { cursor }),
    });
    const old = page.keys.filter(({ uploadedAt }) => uploadedAt.getTime() < since).map(({ key }) => key);
    const { results } = await env.DB.prepare(
      'SELECT picture FROM entries WHERE picture IN (SELECT value FROM json_each(?))',
    )
      .bind(JSON.stringify(old))
      .all<{ picture: string }>();
    const wanted = new Set(results.map(({ picture }) => picture));
    const stray = old.filter((key) => !wanted.has(key));
    if (stray.length > 0) await env.PICTURES.delete(stray);
    removed += stray.length;
    cursor = page.cursor;
  } while (cursor !== null);
  console.log(`Nightly: ${figures?.entries} entries by ${figures?.guests} guests, ${removed} stray pictures removed`);
});
