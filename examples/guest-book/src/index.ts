// A guest book: who signs up may write, illustrate and delete entries; letters are sent by a queue, a workflow comes
// back to new guests, deleted entries stay in the bin for a week, and every night the book is put in order. Try:
// `platform dev` in this folder, http://localhost:3000. What the API takes and answers: /api/docs.
import { logger, platform } from '@platform-run/worker';
import { entries, picturesOf, reading } from './entries.ts';
import { mail, mailbox } from './mail.ts';
import { nightly } from './nightly.ts';
import { welcome } from './welcome.ts';

export default platform<PlatformEnv>()
  .use(logger())
  .openapi({ path: '/api/openapi.json', info: { title: 'Guest book', version: '1.0.0' }, ui: '/api/docs' })
  .route('/api/entries', reading)
  .route('/api/entries', entries)
  .route('/api/entries', picturesOf)
  .route('/api/mails', mailbox)
  .route('/', mail)
  .route('/', welcome)
  .route('/', nightly)
  .build();
