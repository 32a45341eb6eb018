//! Tool calls put together from pieces that say more or less clearly where they belong.

use serde_json::Value;

use crate::answer::{Draft, add_arguments, is_object};

/// The calls of one answer, in the order they began.
#[derive(Debug, Default)]
pub(super) struct Calls {
    drafts: Vec<Indexed>,
    /// The call the last piece belonged to.
    open: Option<usize>,
}

#[derive(Debug)]
struct Indexed {
    index: Option<u64>,
    draft: Draft,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.drafts.is_empty()
    }

    pub(super) fn into_drafts(self) -> impl Iterator<Item = Draft> {
        self.drafts.into_iter().map(|call| call.draft)
    }

    /// Takes an element of `tool_calls`.
    pub(super) fn add(&mut self, piece: &Value) {
        self.add_function(
            piece["id"].as_str().filter(|id| !id.is_empty()),
            piece["index"].as_u64(),
            &piece["function"],
        );
    }

    /// Takes a piece of a function call: an element's inside, or the older `function_call`.
    pub(super) fn add_function(&mut self, id: Option<&str>, index: Option<u64>, function: &Value) {
        let name = function["name"].as_str().filter(|name| !name.is_empty());
        let at = match self.find(id, index, name) {
            Some(at) => at,
            None => {
                self.drafts.push(Indexed {
                    index,
                    draft: Draft::default(),
                });
                self.drafts.len() - 1
            }
        };
        self.open = Some(at);
        let Indexed {
            index: known_index,
            draft,
        } = &mut self.drafts[at];
        *known_index = known_index.or(index);
        if draft.id.is_none() {
            draft.id = id.map(str::to_owned);
        }
        if let Some(name) = name {
            add_name(draft, name);
        }
        add_arguments(&function["arguments"], &mut draft.arguments);
    }

    /// The call a piece goes on: by its id when that is known, else by its index, else the one
    /// that is open. A new id on a used index begins a new call.
    fn find(&self, id: Option<&str>, index: Option<u64>, name: Option<&str>) -> Option<usize> {
        let same_index =
            |call: &Indexed| index.is_none() || call.index.is_none() || call.index == index;
        if let Some(id) = id
            && let Some(known) = self
                .drafts
                .iter()
                .rposition(|call| call.draft.id.as_deref() == Some(id) && same_index(call))
        {
            return Some(known);
        }
        let at = match index {
            Some(_) => self
                .drafts
                .iter()
                .rposition(|call| call.index == index)
                // A piece that comes to have an index only after the first.
                .or_else(|| {
                    self.open
                        .filter(|open| self.drafts[*open].index.is_none() && name.is_none())
                }),
            None => self.open,
        }?;
        let known = &self.drafts[at].draft;
        let whole = is_object(&known.arguments);
        let begins_anew = match (id, &known.id) {
            // Servers that change the id with every piece name the call only once.
            (Some(_), Some(_)) => name.is_some() || whole,
            _ => name.is_some() && !known.name.is_empty() && whole,
        };
        (!begins_anew).then_some(at)
    }
}

/// A name may come whole with every piece, or in pieces before the arguments.
fn add_name(draft: &mut Draft, name: &str) {
    if name.starts_with(draft.name.as_str()) {
        draft.name = name.to_owned();
    } else if draft.arguments.is_empty() {
        draft.name.push_str(name);
    }
}
