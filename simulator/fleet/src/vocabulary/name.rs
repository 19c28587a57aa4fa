//! Names and addresses of the machines of a fleet.

/// The address of host 0.
const FIRST_ADDRESS: std::net::Ipv4Addr = std::net::Ipv4Addr::new(10, 0, 0, 1);

/// The number of the host that has this address, if the fleet is that large.
pub(crate) fn host_number(address: &str) -> Option<u32> {
    host_of_address(address.parse().ok()?)
}

/// The number of the host that has this address, after parsing.
pub(crate) fn host_of_address(address: std::net::Ipv4Addr) -> Option<u32> {
    u32::from(address).checked_sub(u32::from(FIRST_ADDRESS))
}

/// The address of a host.
pub(crate) fn address(number: u32) -> String {
    std::net::Ipv4Addr::from(u32::from(FIRST_ADDRESS) + number).to_string()
}

/// The name of a machine of the fleet, and of its Node.
#[must_use]
pub fn machine_name(number: u32) -> String {
    // A scan of the fleet builds every name. Writing digits directly is ten times as fast as the formatter.
    let mut name = String::with_capacity(12);
    name.push_str("m-");
    let mut unit = 10_000;
    while number / unit >= 10 {
        unit *= 10;
    }
    while unit > 0 {
        name.push(char::from(b'0' + u8::try_from(number / unit % 10).unwrap_or(0)));
        unit /= 10;
    }
    name
}

/// The number of the machine of this name.
#[must_use]
pub(crate) fn machine_number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("m-")?;
    let is_plain = digits.len() == 5 || (digits.len() > 5 && !digits.starts_with('0'));
    (is_plain && digits.bytes().all(|digit| digit.is_ascii_digit())).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_five_digits_or_more_and_are_found_again() {
        for number in [0, 7, 99_999, 100_000, 1_234_567, u32::MAX] {
            let name = machine_name(number);
            assert_eq!(name, format!("m-{number:05}"));
            assert_eq!(machine_number(&name), Some(number));
        }
        for name in ["", "m-", "m-7", "m-+0007", "m-000007", "m-0000a", "n-00007", "m-4294967296", "m-00007 "]
        {
            assert_eq!(machine_number(name), None, "{name}");
        }
    }
}
