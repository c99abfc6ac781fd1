import { redirect } from 'next/navigation';

async function send(form) {
  'use server';
  redirect(`/form?name=${encodeURIComponent(form.get('name'))}`);
}

export default async function Form({ searchParams }) {
  const { name } = await searchParams;
  return (
    <form action={send}>
      <input name="name" />
      <button>Send</button>
      {name && <p>Thanks, {name}</p>}
    </form>
  );
}
