//! What a certificate request says: PKCS#10, read into plain facts.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use seaworthy_model::certificate::RequestContent;
use seaworthy_model::digest::Digest;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::cri_attributes::ParsedCriAttribute;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer;
use x509_parser::x509::AttributeTypeAndValue;

/// Reads a request: PEM with nothing around it, signed with the key that it is for.
pub(crate) fn read(pem: &str) -> Result<RequestContent, String> {
    let (rest, block) = parse_x509_pem(pem.as_bytes()).map_err(|error| format!("not PEM: {error}"))?;
    if block.label != "CERTIFICATE REQUEST" || !rest.iter().all(u8::is_ascii_whitespace) {
        return Err("not one CERTIFICATE REQUEST".to_owned());
    }
    let (rest, request) = X509CertificationRequest::from_der(&block.contents)
        .map_err(|error| format!("not PKCS#10: {error}"))?;
    if !rest.is_empty() {
        return Err("bytes follow the request".to_owned());
    }
    request.verify_signature().map_err(|error| format!("not signed with its own key: {error}"))?;
    let mut content = subject(&request)?;
    names(&request, &mut content)?;
    Ok(content)
}

fn subject(request: &X509CertificationRequest<'_>) -> Result<RequestContent, String> {
    let info = &request.certification_request_info;
    let text = |value: &AttributeTypeAndValue<'_>| -> Result<Arc<str>, String> {
        value.as_str().map(Into::into).map_err(|error| format!("a name is no text: {error}"))
    };
    let names = info.subject.iter_common_name().map(text).collect::<Result<Vec<_>, _>>()?;
    let organizations = info.subject.iter_organization().map(text).collect::<Result<Vec<_>, _>>()?;
    let [common_name] = &names[..] else { return Err(format!("it has {} common names", names.len())) };
    let all = info.subject.iter_attributes().count();
    Ok(RequestContent {
        common_name: Arc::clone(common_name),
        other_names: count(all - names.len() - organizations.len()),
        organizations,
        dns_names: Vec::new(),
        ip_addresses: Vec::new(),
        other_addresses: 0,
        key: Digest::of(info.subject_pki.raw),
    })
}

/// The alternative names. Attributes and extensions that are not known ask for nothing that these signers give.
fn names(request: &X509CertificationRequest<'_>, content: &mut RequestContent) -> Result<(), String> {
    let attributes = request.certification_request_info.attributes();
    let extensions = attributes.iter().filter_map(|attribute| {
        let ParsedCriAttribute::ExtensionRequest(requested) = attribute.parsed_attribute() else {
            return None;
        };
        Some(&requested.extensions)
    });
    for extension in extensions.flatten() {
        let parsed = extension.parsed_extension();
        if let ParsedExtension::SubjectAlternativeName(names) = parsed {
            names.general_names.iter().for_each(|name| add(name, content));
        } else if let ParsedExtension::ParseError { error } = parsed {
            return Err(format!("an extension is damaged: {error}"));
        }
    }
    Ok(())
}

fn add(name: &GeneralName<'_>, content: &mut RequestContent) {
    if let GeneralName::DNSName(name) = name {
        content.dns_names.push((*name).into());
    } else if let GeneralName::IPAddress(bytes) = name
        && let Some(address) = address(bytes)
    {
        content.ip_addresses.push(address);
    } else {
        content.other_addresses += 1;
    }
}

fn address(bytes: &[u8]) -> Option<Arc<str>> {
    let short = <[u8; 4]>::try_from(bytes).map(|bytes| Ipv4Addr::from(bytes).to_string());
    let long = || <[u8; 16]>::try_from(bytes).map(|bytes| Ipv6Addr::from(bytes).to_string());
    short.or_else(|_| long()).ok().map(Into::into)
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PublicKeyData, SanType};

    use super::*;

    fn request(change: impl FnOnce(&mut CertificateParams)) -> (String, Digest) {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::OrganizationName, "system:nodes");
        parameters.distinguished_name.push(DnType::CommonName, "system:node:m-1");
        change(&mut parameters);
        let pem = parameters.serialize_request(&key).unwrap().pem().unwrap();
        (pem, Digest::of(&key.subject_public_key_info()))
    }

    #[test]
    fn a_nodes_request_is_read_whole() {
        let (pem, key) = request(|parameters| {
            parameters.subject_alt_names = vec![
                SanType::DnsName("m-1".try_into().unwrap()),
                SanType::IpAddress("198.18.0.1".parse().unwrap()),
                SanType::IpAddress("2001:db8::1".parse().unwrap()),
                SanType::URI("spiffe://x".try_into().unwrap()),
                SanType::Rfc822Name("a@b".try_into().unwrap()),
            ];
        });
        let content = read(&pem).unwrap();
        assert_eq!((&*content.common_name, content.other_names, content.key), ("system:node:m-1", 0, key));
        assert_eq!(content.organizations, ["system:nodes".into()]);
        assert_eq!(content.dns_names, ["m-1".into()]);
        assert_eq!(content.ip_addresses, ["198.18.0.1".into(), "2001:db8::1".into()]);
        assert_eq!(content.other_addresses, 2);
    }

    #[test]
    fn every_part_of_a_subject_counts() {
        let (pem, _) = request(|parameters| {
            let second = DnType::CustomDnType(vec![2, 5, 4, 10]);
            parameters.distinguished_name.push(second, "system:masters");
            parameters.distinguished_name.push(DnType::LocalityName, "sea");
        });
        let content = read(&pem).unwrap();
        assert_eq!(content.organizations.len(), 2, "{content:?}");
        assert_eq!(content.other_names, 1);
    }

    #[test]
    fn what_is_no_sound_request_is_refused() {
        let (pem, _) = request(|_| {});
        let (other, _) = request(|_| {});
        let twice = format!("{pem}{other}");
        let relabelled = pem.replace("CERTIFICATE REQUEST", "CERTIFICATE");
        let mut forged = parse_x509_pem(pem.as_bytes()).unwrap().1.contents;
        let at = forged.windows(3).position(|window| window == b"m-1").unwrap();
        forged[at + 2] = b'2';
        let forged = seaworthy_api::base64::armour("CERTIFICATE REQUEST", &forged);
        for (bad, part) in [
            ("", "not PEM"),
            ("garbage", "not PEM"),
            (twice.as_str(), "not one"),
            (relabelled.as_str(), "not one"),
            (forged.as_str(), "not signed with its own key"),
        ] {
            let why = read(bad).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
        assert!(read(&pem[..pem.len() / 2]).is_err());
    }
}
