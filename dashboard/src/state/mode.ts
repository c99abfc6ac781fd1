// Mode of the application, set only by a meta element in index.html.

/** `production`: a platform with accounts and projects. `dev`: the only project of `platform dev`. */
export type Mode = 'production' | 'dev';

const said = document.querySelector<HTMLMetaElement>('meta[name="platform-mode"]')?.content;

export const mode: Mode = said === 'dev' ? 'dev' : 'production';
