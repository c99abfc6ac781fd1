import type { APIRoute } from 'astro';

export const GET: APIRoute = ({ url }) => Response.json({ hello: url.searchParams.get('name') });
