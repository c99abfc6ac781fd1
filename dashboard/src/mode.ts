// Which of its two lives the application leads. The server that hands out index.html says so in a meta element, and
// nothing else may decide it.

/** `production`: of a platform, with accounts and projects. `dev`: of the one project of `platform dev`. */
export type Mode = 'production' | 'dev';

const said = document.querySelector<HTMLMetaElement>('meta[name="platform-mode"]')?.content;

export const mode: Mode = said === 'dev' ? 'dev' : 'production';
