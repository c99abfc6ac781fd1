// Pages on the dashboard's origin that redirect to a Git host and handle the return from it. Part of the app of
// sign-in/ui.ts, which looks the session up.
import { platform } from '#packages/worker/index.ts';
import type { UiRequest } from '../sign-in/ui-request.ts';
import { accountPages } from './account-pages.ts';
import { applicationPages } from './application-pages.ts';

export const gitHostPages = platform<UiRequest>().route('/', applicationPages).route('/', accountPages);
