import { createFileRoute } from '@tanstack/react-router';

export const Route = createFileRoute('/form')({
  validateSearch: (search: Record<string, unknown>): { name?: string } =>
    search.name === undefined ? {} : { name: String(search.name) },
  server: {
    handlers: {
      POST: async ({ request }) => {
        const name = String((await request.formData()).get('name'));
        return new Response(null, { status: 303, headers: { location: `/form?name=${encodeURIComponent(name)}` } });
      },
    },
  },
  component: Send,
});

function Send() {
  const { name } = Route.useSearch();
  return (
    <form method="post" action="/form">
      <input name="name" />
      <button>Send</button>
      {name && <p>Thanks, {name}</p>}
    </form>
  );
}
